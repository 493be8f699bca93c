/** The runtime of this process with its version, as `Node 24.21.0`. */
export const RUNTIME: string =
  'Deno' in globalThis
    ? `Deno ${(globalThis as unknown as { Deno: { version: { deno: string } } }).Deno.version.deno}`
    : `Node ${process.versions.node}`
