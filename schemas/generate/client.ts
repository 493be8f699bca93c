// The generated part of the TypeScript client: the types, a function for each operation, and the client on top of `fetch`.
import { createClient } from '@hey-api/openapi-ts'
import type { Document } from './schema.ts'

/** Empties the folder and writes the client into it. */
export const client = async (document: Document, folder: string) => {
  await createClient({
    input: structuredClone(document),
    output: {
      path: folder,
      // The sources run without a build, so imports have the extension of the file.
      module: { extension: '.ts' },
      // Otherwise the output depends on the tsconfig.json above the folder.
      tsConfigPath: null,
      entryFile: false,
    },
    plugins: ['@hey-api/typescript', '@hey-api/sdk', { name: '@hey-api/client-fetch', throwOnError: true }],
    logs: { level: 'silent', file: false },
  })
}
