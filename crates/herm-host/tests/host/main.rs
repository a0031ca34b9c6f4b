//! The library's face, driven against real processes.

mod b08;
mod b11;
mod b12;
mod b13;
mod b14;
mod b16;
mod b17;
mod hostile;
mod limits;
mod real;
mod rounds;
mod support;
mod verdicts;
