//! `DELETE /users/{main_key}`

use std::str::FromStr;

use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
