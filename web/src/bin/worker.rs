//! The worker that holds a run beside the page.

fn main() {
    web::worker();
}
