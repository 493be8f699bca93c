import type { OAuthClient } from '../../domain/operators/grants/clients.ts'

/** What a client asks for; its address was checked. */
export type Asked = { client: OAuthClient; redirectUri: string; state: string | undefined; scopes: string[]; challenge: string }
