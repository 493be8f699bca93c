import type { Logger } from 'pino'
import type { SignInProvider } from '../../domain/operators/provider.ts'
import type { SessionDeps } from './session.ts'

/** What the pages of signing in need. `provider`: of single sign-on; null: there is none. */
export type PageDeps = SessionDeps & { provider: SignInProvider | null; log: Logger }
