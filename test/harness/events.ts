let made = 0
export const countAnew = (): void => {
  made = 0
}

/** A small valid item with an event id that no other call has returned. */
export const item = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  event_id: `e-${++made}`,
  event_name: 'in_app_purchase',
  happened_at: '2026-03-01T12:00:00Z',
  price: '9.99',
  currency: 'USD',
  ...fields,
})
