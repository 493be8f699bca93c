let count = 0
export const countAnew = (): void => {
  count = 0
}

const BEGINS = new Set(['trial_started', 'trial_converted', 'subscription_started', 'subscription_renewed'])
const MONTH_MS = 30 * 86_400_000

/** A period that states no end gets one, 30 days after the event. */
function transactionOf({ event_name, happened_at, transaction }: Record<string, unknown>): object {
  const stated = transaction as { expires_at?: string; transaction_date?: string } | undefined
  if (!BEGINS.has(String(event_name)) || stated?.expires_at !== undefined) return {}
  const begins = stated?.transaction_date ?? String(happened_at)
  return { transaction: { ...stated, expires_at: new Date(Date.parse(begins) + MONTH_MS).toISOString() } }
}

/** A small valid item with an event id that no other call has returned. */
export const item = (fields: Record<string, unknown> = {}): Record<string, unknown> => {
  const made = {
    event_id: `e-${++count}`,
    event_name: 'in_app_purchase',
    happened_at: '2026-03-01T12:00:00Z',
    price: '9.99',
    currency: 'USD',
    ...fields,
  }
  return { ...made, ...transactionOf(made) }
}
