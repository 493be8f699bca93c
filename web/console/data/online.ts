import { onlineManager } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

/** The millisecond since which there is no network, as far as the browser knows. Undefined while there is one. */
let since: number | undefined = onlineManager.isOnline() ? undefined : Date.now()
onlineManager.subscribe(online => {
  since = online ? undefined : (since ?? Date.now())
})

export const useOfflineSince = (): number | undefined =>
  useSyncExternalStore(
    listener => onlineManager.subscribe(listener),
    () => since,
  )

/** Why nothing can be changed now; undefined while it can. */
export const useNoNetwork = (): string | undefined => (useOfflineSince() === undefined ? undefined : 'there is no network')
