//! Pagination: the parameters `after` and `limit`, and the responses with a page.

use std::str::FromStr;

use usher_engine::{FieldErrors, Order, StreamId};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{KnownFormat, ObjectBuilder, Required, SchemaFormat, Type};

use crate::query::{Query, ReadQuery};

/// Most entries of a page.
const MAX_LIMIT: u64 = 1_000;

/// Entries of a page without `limit`.
const DEFAULT_LIMIT: u64 = 100;

/// The position of an entry in a list.
pub(crate) trait Cursor: FromStr {
    fn schema() -> ObjectBuilder;
}

impl Cursor for StreamId {
    fn schema() -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::String).format(Some(SchemaFormat::Custom("uuid".to_owned())))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageQuery<C> {
    /// The last entry of the previous page; `None` for the first page.
    pub(crate) after: Option<C>,
    pub(crate) limit: usize,
}

impl<C: Cursor> ReadQuery for PageQuery<C> {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let after = query.text("after", errors).and_then(|text| {
            text.parse().ok().or_else(|| errors.reject("/after", "must be the `next` of an earlier response"))
        });
        let limit = query.integer("limit", 1..=MAX_LIMIT, errors).unwrap_or(DEFAULT_LIMIT);
        Self { after, limit: usize::try_from(limit).unwrap_or(usize::MAX) }
    }
}

impl<C: Cursor> IntoParams for PageQuery<C> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let parameter = |name: &str, description: String, schema: ObjectBuilder| {
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Query)
                .required(Required::False)
                .description(Some(description))
                .schema(Some(schema.build()))
                .build()
        };
        let limit = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(1))
            .maximum(Some(i64::try_from(MAX_LIMIT).unwrap_or(i64::MAX)));
        vec![
            parameter("after", "Continues after this entry: the `next` of the last response.".to_owned(), C::schema()),
            parameter("limit", format!("Most entries in the response. Default {DEFAULT_LIMIT}."), limit),
        ]
    }
}

/// In which order a list is.
pub(crate) struct OrderQuery(pub(crate) Order);

impl ReadQuery for OrderQuery {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let order = query.text("order", errors).and_then(|word| match &*word {
            "oldest" => Some(Order::Oldest),
            "newest" => Some(Order::Newest),
            _ => errors.reject("/order", "must be `oldest` or `newest`"),
        });
        Self(order.unwrap_or_default())
    }
}

/// Declares the response with a page of a list: the name of its schema, and its items. A `sparse` page may be short although another
/// one follows.
macro_rules! page {
    (#[doc = $doc:tt] $schema:ident sparse { $($items:tt)+ }) => {
        page! { @ #[doc = $doc] $schema { $($items)+ }
            "The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even none, and still have a `next`."
        }
    };
    (#[doc = $doc:tt] $schema:ident { $($items:tt)+ }) => {
        page! { @ #[doc = $doc] $schema { $($items)+ } "The `after` for the next page; `null` if this is the last one." }
    };
    (@ #[doc = $doc:tt] $schema:ident { #[doc = $items_doc:tt] $items:ident: $item:ident, } $next_doc:tt) => {
        #[doc = $doc]
        #[derive(Debug, serde::Serialize, utoipa::ToSchema)]
        #[schema(as = $schema)]
        pub(crate) struct List {
            #[doc = $items_doc]
            $items: Vec<$item>,
            #[doc = $next_doc]
            #[schema(example = json!(null))]
            next: Option<String>,
        }

        impl List {
            /// The response.
            fn page(
                items: impl IntoIterator<Item = impl Into<$item>>,
                next: Option<impl ToString>,
            ) -> axum::Json<Self> {
                let $items = items.into_iter().map(Into::into).collect();
                axum::Json(Self { $items, next: next.map(|next| next.to_string()) })
            }
        }
    };
}

pub(crate) use page;
