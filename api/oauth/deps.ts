import type { ClientDocuments } from '../../domain/operators/grants/client-document.ts'
import type { SessionDeps } from '../sign-in/session.ts'

export type OAuthDeps = SessionDeps & {
  /** Whether programs may register themselves. */
  oauthRegistration: boolean
  clientDocuments: ClientDocuments
}
