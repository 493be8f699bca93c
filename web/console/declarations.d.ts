declare module 'virtual:operations' {
  /** `GET /v4/ledger` by operation id. */
  export const OPERATIONS: Readonly<Record<string, string>>
}
