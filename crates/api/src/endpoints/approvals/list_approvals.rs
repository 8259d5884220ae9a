//! `GET /approvals`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::access::KeyRing;
use usher_engine::{PaymentPurpose, Requester, StreamId, WaitingPayment};
use utoipa::ToSchema;

use crate::ApiState;
use crate::paging::{PageQuery, page};
use crate::problem::Problem;
use crate::query::Parameters;

page! {
    /// Payments that wait for an approval.
    ApprovalList {
        /// The payments, in the order in which they were requested.
        approvals: Approval,
    }
}

/// A payment by the service that waits for an approval.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Approval)]
struct Approval {
    /// Its stream.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// `invoice`, `refund` or `on_chain`, as `GET /payments` has it.
    #[schema(pattern = "^(invoice|refund|on_chain)$", example = "invoice")]
    kind: &'static str,
    /// Millisats.
    #[schema(example = 250_000_000)]
    amount_millisats: u64,
    /// The largest fee, in millisats, that comes on top.
    #[schema(example = 12_500_000)]
    max_fee_millisats: u64,
    /// Of an invoice, what the payee wrote; of a refund, what the payment was for. Without it the purpose is unknown: an invoice says
    /// nothing, or has only a hash of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "One cup of coffee")]
    description: Option<String>,
    /// Of an invoice: the public key of the payee's node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{66}$",
        example = "03e7156ae33b0a208d0744199163177e909e80176e55d97a2f221ede0f934dd9ad"
    )]
    payee: Option<String>,
    /// Of a payment on chain: where the money goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")]
    address: Option<String>,
    /// Of a refund: the stream of the payment that it pays back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    refund_of: Option<String>,
    /// Who asked for it: `token`, the id of an API key, `operator:` and the name of an operator, or `revoked_key` if that was
    /// revoked since.
    #[schema(example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    requested_by: String,
    /// The name of the API key that asked for it. Names need not be unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "payroll")]
    key_name: Option<String>,
    /// When it was asked for, in Unix seconds.
    #[schema(example = 1732137600)]
    requested_at: u64,
    /// Unix seconds until which it can be approved; then it ends unpaid.
    #[schema(example = 1732141200)]
    expires_at: u64,
}

impl Approval {
    fn of(payment: WaitingPayment, keys: &KeyRing) -> Self {
        let (mut description, mut payee, mut address, mut refund_of) = (None, None, None, None);
        match payment.purpose {
            PaymentPurpose::Invoice { description: written, payee: node } => {
                description = Some(written).filter(|written| !written.is_empty());
                payee = Some(node);
            }
            PaymentPurpose::Refund { payment, description: written } => {
                description = Some(written);
                refund_of = Some(payment.to_string());
            }
            PaymentPurpose::OnChain { address: to } => address = Some(to),
        }
        let key = payment.requested_by.and_then(|origin| keys.of_origin(origin));
        let requested_by = match (payment.requested_by, &key) {
            (None, _) => "token".to_owned(),
            (Some(_), Some((key, _))) => key.to_string(),
            (Some(origin), None) => {
                let operator = keys.operators().of_origin(origin);
                operator.map_or_else(|| "revoked_key".to_owned(), |operator| operator.actor())
            }
        };
        Self {
            stream_id: payment.id.to_string(),
            kind: payment.kind.as_str(),
            amount_millisats: payment.amount,
            max_fee_millisats: payment.max_fee,
            description,
            payee,
            address,
            refund_of,
            requested_by,
            key_name: key.map(|(_, name)| name),
            requested_at: payment.requested_at.secs(),
            expires_at: payment.expires_at.secs(),
        }
    }
}

/// Lists the payments by the service that wait for an approval.
///
/// A payment whose amount and largest fee are more than `wallet.approval_above_millisats` waits until somebody else than who asked
/// for it approves (`POST /approvals/{stream_id}`).
#[utoipa::path(
    get,
    path = "/approvals",
    params(PageQuery<StreamId>),
    responses(
        (status = 200, description = "The payments.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_approvals(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    Parameters(PageQuery { after, limit }): Parameters<PageQuery<StreamId>>,
) -> Result<Json<List>, Problem> {
    let (payments, next) = state.engine.payments().waiting_for_approval(&requester, after, limit).await?;
    Ok(List::page(payments.into_iter().map(|payment| Approval::of(payment, &state.keys)), next))
}
