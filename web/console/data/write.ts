import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import type { ApiError } from './api-error.ts'
import { askAgain } from './ask-again.ts'
import { type AnyInput, callOf, type Input, type OperationName, type Result } from './operations.ts'
import { addressOf, usePlace } from './place.ts'
import { request } from './request.ts'

/** An answer says that the operation was refused: the service would repeat it to the same key, also when what it refused is possible by then. */
const isRefusal = ({ status, retryAfter }: ApiError) => status >= 400 && status < 500 && retryAfter === undefined

/**
 * Writes an operation. The same input sent while it is under way does nothing: what follows that call is never reached. Sent again after no
 * answer, it carries the same `Idempotency-Key`, so that it never acts twice. `changes`: the reads to ask for again. `heard`: for an answer
 * that says something in its headers.
 */
export function useWrite<Name extends OperationName>(
  name: Name,
  { changes = [], heard }: { changes?: readonly OperationName[]; heard?: (headers: Headers) => void } = {},
) {
  const place = usePlace()
  const client = useQueryClient()
  const keys = useRef(new Map<string, string>())
  const sending = useRef(new Set<string>())
  const mutation = useMutation<Result<Name>, ApiError, Input<Name>>({
    // Without a network it fails at once. To wait for one would write later what somebody has given up meanwhile.
    networkMode: 'always',
    mutationFn: input => {
      const text = JSON.stringify(input)
      const key = keys.current.get(text) ?? crypto.randomUUID()
      keys.current.set(text, key)
      const { method, path } = callOf(name, input as AnyInput)
      return request(`${addressOf(place!)}${path}`, {
        method,
        body: (input as AnyInput).body,
        key,
        ...(heard && { heard }),
      })
    },
    onError: (error, input) => {
      if (isRefusal(error)) keys.current.delete(JSON.stringify(input))
    },
    onSuccess: async (_result, input) => {
      keys.current.delete(JSON.stringify(input))
      await askAgain(client, ({ queryKey }) => changes.includes(queryKey[1] as OperationName))
    },
  })
  const send = async (input: Input<Name>): Promise<Result<Name>> => {
    const text = JSON.stringify(input)
    // Before the next render `isPending` does not know of the first click.
    if (place === undefined || sending.current.has(text)) return new Promise(() => {})
    sending.current.add(text)
    try {
      return await mutation.mutateAsync(input)
    } finally {
      sending.current.delete(text)
    }
  }
  return { send, isPending: mutation.isPending, error: mutation.error, reset: mutation.reset }
}

/** Of a form that reads before it writes, which `useWrite` does not see: a second click while it is at it does nothing. */
export function useOne(act: () => Promise<unknown>): () => Promise<void> {
  const isUnderWay = useRef(false)
  return async () => {
    if (isUnderWay.current) return
    isUnderWay.current = true
    try {
      await act()
    } finally {
      isUnderWay.current = false
    }
  }
}
