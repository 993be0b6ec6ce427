//! The page.

fn main() {
    web::page();
}
