import type { Logger } from 'pino'
import type { ClientDocuments } from '../../domain/operators/grants/client-document.ts'
import type { SessionDeps } from '../sign-in/session.ts'

export type OAuthDeps = SessionDeps & {
  log: Logger
  /** Whether programs may register themselves. */
  oauthRegistration: boolean
  clientDocuments: ClientDocuments
}
