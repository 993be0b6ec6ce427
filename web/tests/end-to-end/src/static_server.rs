//! A server of files and nothing else, as the page has to be content with.

//!
//! Each request has a connection and a thread of its own: browsers keep several connections open without a request, and
//! a server that waits on those with a fixed number of threads leaves the others unanswered.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};

/// Serves a folder on a free port of this machine until it is dropped.
pub struct StaticServer {
    site: Arc<Site>,
    listener: Option<JoinHandle<()>>,
    socket: SocketAddr,
    address: String,
}

/// What is served, and what was asked for in vain.
struct Site {
    folder: PathBuf,
    prefix: String,
    missing: Mutex<Vec<String>>,
    ended: AtomicBool,
}

impl StaticServer {
    /// Serves `folder` below `prefix`, which starts and ends with a slash; everything else is not found.
    pub fn start(folder: &Path, prefix: &str) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot serve on this machine")?;
        let socket = listener.local_addr().context("the server has no port")?;
        let site = Arc::new(Site {
            folder: folder.to_owned(),
            prefix: prefix.to_owned(),
            missing: Mutex::default(),
            ended: AtomicBool::default(),
        });
        let served = Arc::clone(&site);
        let listener = thread::spawn(move || {
            for stream in listener.incoming() {
                if served.ended.load(Ordering::Acquire) {
                    return;
                }
                let site = Arc::clone(&served);
                // A client that went away is no trouble of the server's. A connection without a request ends with the
                // browser.
                thread::spawn(move || stream.and_then(|stream| site.answer(&stream)));
            }
        });
        let address = format!("http://{socket}{prefix}");
        Ok(Self { site, listener: Some(listener), socket, address })
    }

    /// The address of the served folder.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The addresses that were asked for and are not there.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        self.site.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for StaticServer {
    fn drop(&mut self) {
        self.site.ended.store(true, Ordering::Release);
        // Wakes the listener, which then sees that it has ended.
        if TcpStream::connect(self.socket).is_ok()
            && let Some(listener) = self.listener.take()
        {
            let _ = listener.join();
        }
    }
}

impl Site {
    /// Answers one request and ends the connection.
    fn answer(&self, mut stream: &TcpStream) -> io::Result<()> {
        let mut lines = BufReader::new(stream).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        // The rest of the head says nothing of interest, but has to be read: closing with unread bytes resets.
        for line in lines {
            if line?.is_empty() {
                break;
            }
        }
        let Some(url) = request.split(' ').nth(1) else { return Ok(()) };
        let (status, kind, body) = match self.file(url).and_then(|file| Some((fs::read(&file).ok()?, file))) {
            Some((bytes, file)) => ("200 OK", content_type(&file), bytes),
            None => {
                self.missing.lock().unwrap_or_else(PoisonError::into_inner).push(url.to_owned());
                ("404 Not Found", "text/plain", b"not found".to_vec())
            }
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)
    }

    /// The file that an address means, if it lies below the prefix and stays in the folder.
    fn file(&self, url: &str) -> Option<PathBuf> {
        let path = url.split(['?', '#']).next()?.strip_prefix(&self.prefix)?;
        let path = if path.is_empty() { "index.html" } else { path };
        let stays = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        stays.then(|| self.folder.join(path))
    }
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site {
            folder: "/site".into(),
            prefix: "/some/folder/".to_owned(),
            missing: Mutex::default(),
            ended: AtomicBool::default(),
        }
    }

    #[test]
    fn only_files_below_the_prefix_are_served() {
        let file = |url: &str| site().file(url).map(|file| file.display().to_string());
        assert_eq!(file("/some/folder/"), Some("/site/index.html".to_owned()));
        assert_eq!(file("/some/folder/web.js?version=1"), Some("/site/web.js".to_owned()));
        assert_eq!(file("/web.js"), None);
        assert_eq!(file("/some/folder/../../etc/passwd"), None);
        assert_eq!(file("/some/folder//etc/passwd"), None);
    }
}
