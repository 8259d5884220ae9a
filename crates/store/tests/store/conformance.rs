//! Runs the conformance suite against SQLite and PostgreSQL.

mod sqlite {
    usher_store::store_conformance!(crate::subjects::sqlite);
}

mod postgres {
    usher_store::store_conformance!(conforms, crate::subjects::postgres);
}
