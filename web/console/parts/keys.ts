import { useEffect, useRef, useSyncExternalStore } from 'react'

/** A key and what it does. `g u`: one after the other. `mod+k`: with Ctrl, or ⌘ on a Mac. */
export type Keys = Readonly<Record<string, { says: string; run: (event: KeyboardEvent) => void }>>

let layers: { keys: Keys }[] = []
let shown: readonly Keys[] = []
const listeners = new Set<() => void>()
let first = { key: '', at: 0 }

const publish = () => {
  shown = layers.map(({ keys }) => keys)
  for (const listener of listeners) listener()
}

function onKey(event: KeyboardEvent) {
  const mod = event.ctrlKey || event.metaKey
  if (event.altKey || event.defaultPrevented) return
  if (!mod && isTyping(event.target)) return
  // The page behind a window is not seen, and what is typed in the window would be lost.
  if (event.target instanceof Element && event.target.closest('[aria-modal=true]') !== null) return
  const pair = Date.now() - first.at < 1_200 ? `${first.key} ${event.key}` : undefined
  const names = mod ? [`mod+${event.key.toLowerCase()}`] : pair ? [pair, event.key] : [event.key]
  for (const name of names) {
    const found = layers.findLast(({ keys }) => name in keys)?.keys[name]
    if (!found) continue
    first = { key: '', at: 0 }
    event.preventDefault()
    return found.run(event)
  }
  if (!mod) first = { key: event.key, at: Date.now() }
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName))

/** Keys of what is on the page now. Those of the part that came last win. None of them acts while one types in a field, or in a window over the page. */
export function useKeys(keys: Keys) {
  const layer = useRef({ keys })
  layer.current.keys = keys
  const named = Object.entries(keys)
    .map(([key, { says }]) => key + says)
    .join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the help is told again only when a key or its text changed
  useEffect(() => publish(), [named])
  useEffect(() => {
    const own = layer.current
    if (layers.length === 0) addEventListener('keydown', onKey)
    layers = [...layers, own]
    publish()
    return () => {
      layers = layers.filter(other => other !== own)
      if (layers.length === 0) removeEventListener('keydown', onKey)
      publish()
    }
  }, [])
}

/** All keys that act now, for the help. */
export function useShownKeys(): readonly Keys[] {
  return useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => shown,
  )
}
