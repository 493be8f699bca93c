// What the tests use of oidc-provider, which has no types of its own.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  type Grant = { addOIDCScope(scope: string): void; save(): Promise<string> }
  type Interaction = { uid: string }
  type Asked = {
    oidc: {
      provider: { Grant: new (of: { clientId: string; accountId: string }) => Grant }
      client: { clientId: string }
      session: { accountId: string }
    }
  }
  type Configuration = {
    clients: Record<string, unknown>[]
    jwks: { keys: object[] }
    cookies: { keys: string[] }
    claims: Record<string, string[]>
    features: Record<string, { enabled: boolean }>
    interactions: { url(context: unknown, interaction: Interaction): string }
    findAccount(context: unknown, subject: string): { accountId: string; claims(): Record<string, unknown> }
    loadExistingGrant(context: Asked): Promise<Grant>
  }

  export default class Provider {
    constructor(issuer: string, configuration: Configuration)
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}
