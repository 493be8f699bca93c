import type Koa from 'koa'
import type { EnvironmentKind } from '../domain/kernel/environment.ts'
import type { Principal } from '../domain/operators/principal.ts'
import type { AttemptedClaim } from '../domain/purchases/attempts/attempt.ts'
import type { ConsoleRoute } from './console/operation.ts'
import type { Route } from './operation.ts'
import type { SdkRoute } from './sdk/dispatch.ts'
import type { V3Route } from './v3/dispatch.ts'

export type AnyRoute = Route | V3Route | SdkRoute | ConsoleRoute

/** What the router finds for a request. `method`: the path has a route, but not with this method. */
export type Match =
  | { is: 'found'; route: AnyRoute; parameters: Record<string, string> }
  | { is: 'method'; allow: string }
  | { is: 'none' }
  | { is: 'malformed' }

/** What a purchase was about, or a notification of a store. */
export type ClaimAttempt = { store: string | null; ids: Record<string, string> }

/**
 * What the layers of the onion tell each other. `operation`: the id of the operation, or `none`; a label of log and metrics. `route`: the
 * path with the names of its parameters, for the log: the path itself has ids of customers. `attempt`: what a purchase or a notification is about.
 * `actsIn`: the environment of the user on whom the operation acts, where it is not that of the key. `claimed`: what a purchase claims; `claimant`: for
 * whom, where the path does not name the user. `dryRun`: its refusal is nobody's refused purchase. `formCookie`: that the answer sets for its forms.
 * `isCompressible`: see `compressed`.
 */
export type RequestState = {
  requestId: string
  operation: string
  route?: string
  match: Match
  owner?: Principal
  actsIn?: EnvironmentKind
  attempt?: ClaimAttempt
  claimed?: AttemptedClaim
  claimant?: string
  dryRun?: boolean
  formCookie?: string
  isCompressible?: boolean
}

export type Context = Koa.ParameterizedContext<RequestState>
export type Layer = (ctx: Context, next: Koa.Next) => Promise<void>
