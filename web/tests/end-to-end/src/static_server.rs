//! A server of files and nothing else, as the page has to be content with.

use std::fs;
use std::io::{Error, ErrorKind};
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use tiny_http::{Header, Request, Response, Server};

/// How many requests are answered at once.
const THREADS: usize = 4;

/// Serves a folder on a free port of this machine until it is dropped.
pub struct StaticServer {
    server: Arc<Server>,
    site: Arc<Site>,
    threads: Vec<JoinHandle<()>>,
    address: String,
}

/// What is served, and what was asked for in vain.
struct Site {
    folder: PathBuf,
    prefix: String,
    missing: Mutex<Vec<String>>,
}

impl StaticServer {
    /// Serves `folder` below `prefix`, which starts and ends with a slash; everything else is not found.
    pub fn start(folder: &Path, prefix: &str) -> Result<Self> {
        let server = Server::http((Ipv4Addr::LOCALHOST, 0)).map_err(|error| anyhow::anyhow!(error));
        let server = Arc::new(server.context("cannot serve on this machine")?);
        let port = server.server_addr().to_ip().context("the server has no port")?.port();
        let site = Arc::new(Site {
            folder: folder.to_owned(),
            prefix: prefix.to_owned(),
            missing: Mutex::new(Vec::new()),
        });
        let threads = (0..THREADS)
            .map(|_| {
                let (server, site) = (Arc::clone(&server), Arc::clone(&site));
                thread::spawn(move || server.incoming_requests().for_each(|request| site.answer(request)))
            })
            .collect();
        let address = format!("http://{}:{port}{prefix}", Ipv4Addr::LOCALHOST);
        Ok(Self { server, site, threads, address })
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
        for _ in &self.threads {
            self.server.unblock();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Site {
    fn answer(&self, request: Request) {
        let url = request.url().to_owned();
        // A client that went away is no trouble of the server's.
        let _ = match self.file(&url).ok_or_else(|| Error::from(ErrorKind::NotFound)).and_then(|file| {
            let bytes = fs::read(&file)?;
            Ok(Response::from_data(bytes).with_header(content_type(&file)?))
        }) {
            Ok(response) => request.respond(response),
            Err(_) => {
                self.missing.lock().unwrap_or_else(PoisonError::into_inner).push(url);
                request.respond(Response::from_string("not found").with_status_code(404))
            }
        };
    }

    /// The file that an address means, if it lies below the prefix and stays in the folder.
    fn file(&self, url: &str) -> Option<PathBuf> {
        let path = url.split(['?', '#']).next()?.strip_prefix(&self.prefix)?;
        let path = if path.is_empty() { "index.html" } else { path };
        let stays = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        stays.then(|| self.folder.join(path))
    }
}

fn content_type(file: &Path) -> Result<Header, Error> {
    let value = match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    };
    Header::from_bytes("Content-Type", value).map_err(|()| Error::other("a content type is no header"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site { folder: "/site".into(), prefix: "/some/folder/".to_owned(), missing: Mutex::new(Vec::new()) }
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
