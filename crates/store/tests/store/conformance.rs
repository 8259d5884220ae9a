//! Runs the conformance suite against SQLite, PostgreSQL and the store in memory.

mod sqlite {
    usher_store::store_conformance!(crate::subjects::sqlite);
}

mod postgres {
    usher_store::store_conformance!(conforms, crate::subjects::postgres);
}

mod memory {
    use std::sync::Arc;

    use async_trait::async_trait;
    use usher_store::conformance::{FullStore, Subject};
    use usher_testing::ports::MemoryStore;

    struct InMemory(Arc<MemoryStore>);

    async fn subject() -> impl Subject {
        InMemory(Arc::new(MemoryStore::new()))
    }

    #[async_trait]
    impl Subject for InMemory {
        fn store(&self) -> Arc<dyn FullStore> {
            Arc::clone(&self.0) as Arc<dyn FullStore>
        }

        async fn reopen(&mut self) {}
    }

    usher_store::store_conformance!(super::subject);
}
