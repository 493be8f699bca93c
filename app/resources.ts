import type { Secrets } from '../domain/projects/secrets.ts'
import type { Pool } from '../store/connect.ts'
import type { FileStorage } from '../store/files/storage.ts'

/** What the API and the workers of this process share. */
export type Resources = { url: string; pool: Pool; secrets: Secrets; storage: FileStorage }
