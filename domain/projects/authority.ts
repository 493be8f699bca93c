import type { Environment, EnvironmentKind } from '../kernel/environment.ts'

/** What the holder may do: everything, or what the scopes name, such as `events:read`. */
export type Scopes = 'all' | ReadonlySet<string>

export const NO_SCOPES: Scopes = new Set()

/** What every kind of principal has. `environmentKind`: of the environment. */
export type Authority = { project: number; environment: Environment; environmentKind: EnvironmentKind; scopes: Scopes }

export const permits = (scopes: Scopes, scope: string): boolean => scopes === 'all' || scopes.has(scope)
