import type { Secrets } from '../domain/projects/secrets.ts'
import type { Pool } from '../store/connect.ts'
import type { FileStorage } from '../store/files/storage.ts'

/**
 * What the API and the workers of this process share. `url`: of the database. `pooler`: the address for statements that need no session, where
 * it is another one.
 */
export type Resources = { url: string; pooler: string | undefined; pool: Pool; secrets: Secrets; storage: FileStorage }
