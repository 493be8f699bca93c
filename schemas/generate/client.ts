// The generated part of the TypeScript client: its types, a function for each operation, and the client over fetch they run on.
import { createClient } from '@hey-api/openapi-ts'
import type { Document } from './schema.ts'

/** Empties the folder and writes the client into it. */
export const client = async (document: Document, folder: string) => {
  await createClient({
    input: structuredClone(document),
    output: {
      path: folder,
      // The sources run without a build, so imports name the files there are.
      module: { extension: '.ts' },
      // Otherwise the result hangs on whichever tsconfig.json lies above the folder.
      tsConfigPath: null,
      entryFile: false,
    },
    plugins: ['@hey-api/typescript', '@hey-api/sdk', { name: '@hey-api/client-fetch', throwOnError: true }],
    logs: { level: 'silent', file: false },
  })
}
