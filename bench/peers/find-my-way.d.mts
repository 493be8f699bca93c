type Tree = {
  on(method: string, path: string, handler: () => void, store: unknown): void
  find(method: string, path: string): { store: unknown; params: Record<string, string | undefined> } | null
}

export function searchTree(): Tree
