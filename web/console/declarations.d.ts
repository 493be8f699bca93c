declare module 'virtual:operations' {
  /** `GET /v4/ledger` by operation id. */
  export const OPERATIONS: Readonly<Record<string, string>>
}

declare module 'virtual:scopes' {
  /** `events:read`: what a named key may be given. */
  export const SCOPES: readonly import('../../clients/typescript/src/index.ts').Scope[]
}

declare module 'virtual:sample' {
  /** `examples/cdnow.csv`: a head, and an order on each line. */
  export const SAMPLE: string
}
