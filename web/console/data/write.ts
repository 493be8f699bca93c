import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import type { ApiError } from './api-error.ts'
import { type AnyInput, callOf, type Input, type OperationName, type Result } from './operations.ts'
import { addressOf, usePlace } from './place.ts'
import { request } from './request.ts'

/**
 * Writes an operation. A second call while the first is under way does nothing, and the same input sent again after no answer carries the
 * same `Idempotency-Key`, so that it never acts twice. `changes`: the reads to ask for again. `heard`: for an answer that says something in its headers.
 */
export function useWrite<Name extends OperationName>(
  name: Name,
  { changes = [], heard }: { changes?: readonly OperationName[]; heard?: (headers: Headers) => void } = {},
) {
  const place = usePlace()
  const client = useQueryClient()
  const form = useRef<{ input: string; key: string }>(undefined)
  const mutation = useMutation<Result<Name>, ApiError, Input<Name>>({
    mutationFn: input => {
      const text = JSON.stringify(input)
      if (form.current?.input !== text) form.current = { input: text, key: crypto.randomUUID() }
      const { method, path } = callOf(name, input as AnyInput)
      return request(`${addressOf(place!)}${path}`, {
        method,
        body: (input as AnyInput).body,
        key: form.current.key,
        ...(heard && { heard }),
      })
    },
    onSuccess: async () => {
      form.current = undefined
      await client.invalidateQueries({ predicate: ({ queryKey }) => changes.includes(queryKey[1] as OperationName) })
    },
  })
  const send = async (input: Input<Name>) => {
    if (!mutation.isPending && place !== undefined) return mutation.mutateAsync(input)
  }
  return { send, isPending: mutation.isPending, error: mutation.error, reset: mutation.reset }
}
