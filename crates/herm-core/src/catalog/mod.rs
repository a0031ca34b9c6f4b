//! What servers offer: selection, names, merging.
