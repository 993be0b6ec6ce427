//! chromedriver, started on a free port and ended with all browsers it started.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

/// What chromedriver prints before the number of its port.
const READY: &str = "started successfully on port ";

/// How long chromedriver may take to close its browsers.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running chromedriver.
pub(crate) struct Driver {
    process: Child,
    port: u16,
    // What chromedriver and its browsers leave there goes with it.
    _temporary: TempDir,
}

impl Driver {
    /// Starts the chromedriver that the environment variable CHROMEDRIVER names, or else the one on PATH.
    pub(crate) fn start() -> Result<Self> {
        let program = env::var_os("CHROMEDRIVER").unwrap_or_else(|| "chromedriver".into());
        let temporary = tempfile::tempdir().context("no folder for the browser's temporary files")?;
        let mut process = Command::new(&program)
            .arg("--port=0")
            .env("TMPDIR", temporary.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| {
                format!("cannot start {}; `cargo xtask setup` provides chromedriver", program.display())
            })?;
        let output = process.stdout.take().context("chromedriver has no output")?;
        match read_port(output) {
            Ok(port) => Ok(Self { process, port, _temporary: temporary }),
            Err(error) => {
                // Not ready means that there is nothing to be ended in an orderly way.
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    /// Its address.
    pub(crate) fn address(&self) -> String {
        format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Asks chromedriver to close its browsers and end. A killed one would leave them behind.
    fn shut_down(&self) -> std::io::Result<()> {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        connection.set_read_timeout(Some(PATIENCE))?;
        write!(connection, "GET /shutdown HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        // It answers when all is closed.
        connection.read_to_end(&mut Vec::new()).map(|_| ())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.shut_down().is_err() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

/// Reads until chromedriver says its port, then keeps reading on a thread so that it never blocks.
fn read_port(output: impl Read + Send + 'static) -> Result<u16> {
    let mut lines = BufReader::new(output).lines();
    let mut said = Vec::new();
    for line in lines.by_ref() {
        let line = line.context("cannot read chromedriver's output")?;
        if let Some((_, port)) = line.split_once(READY) {
            let port = port.trim_end_matches('.').parse();
            let port = port.with_context(|| format!("chromedriver named no port: {line}"))?;
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(port);
        }
        said.push(line);
    }
    bail!("chromedriver ended before it was ready; it said: {}", said.join(" / "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_what_chromedriver_says() {
        let output = "Starting ChromeDriver 156.0\nChromeDriver was started successfully on port 41234.\n";
        assert_eq!(read_port(output.as_bytes()).unwrap(), 41234);
    }

    #[test]
    fn a_driver_that_does_not_start_is_quoted() {
        let error = read_port("no display\n".as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("it said: no display"), "{error}");
    }
}
