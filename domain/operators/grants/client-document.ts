/** A document as it was fetched. `cacheControl`: '' without one. */
export type FetchedDocument = { text: string; cacheControl: string }

/** Fetches a document of a client. Null: it cannot be had. */
export type ClientDocuments = (url: string) => Promise<FetchedDocument | null>
