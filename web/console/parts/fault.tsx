import { Button, Code } from '@mantine/core'
import { useEffect, useState } from 'react'
import { ApiError } from '../data/api-error.ts'
import { SIGN_IN_AGAIN } from '../data/session.ts'
import { Copy } from './copy.tsx'
import { Icon } from './icon.tsx'
import { counted, t } from './t.ts'

const TITLES: Record<number, string> = {
  400: 'The service does not accept this',
  403: 'Your role does not allow this',
  404: 'This does not exist here',
  409: 'This is not possible in its present state',
  422: 'The service cannot do this now',
  429: 'Too many requests',
}
const titleOf = (status: number) =>
  TITLES[status] ?? (status === 0 ? 'The service did not answer' : status >= 500 ? 'The service failed' : 'This could not be shown')

/** A failure where its content would stand: what it is, its code, the request's id to copy, and *Try again*. The rest of the page lives on. */
export function Fault({ error, retry }: { error: unknown; retry?: (() => unknown) | undefined }) {
  const known = error instanceof ApiError ? error : undefined
  const left = useCountdown(known, retry)
  return (
    <div className="fault" role="alert">
      <Icon name="warn" size={18} />
      <div>
        <strong>{known ? t(titleOf(known.status)) : t('This part of the page failed')}</strong>
        <p>
          {(error as Error).message} {known && <Code>{known.code}</Code>}
          {known?.requestId && (
            <>
              {' '}
              {t('request')} <Copy text={known.requestId} />
            </>
          )}
        </p>
        {left > 0 && (
          <p>
            {retry
              ? counted(left, 'Asks again in {n} second.', 'Asks again in {n} seconds.')
              : counted(left, 'Try again in {n} second.', 'Try again in {n} seconds.')}
          </p>
        )}
      </div>
      {known?.code === 'sign_in_again' && (
        <Button component="a" size="xs" href={SIGN_IN_AGAIN} target="_blank" rel="opener">
          {t('Show that it is you')}
        </Button>
      )}
      {retry && (
        <Button size="xs" variant="default" onClick={() => void retry()}>
          {t('Try again')}
        </Button>
      )}
    </div>
  )
}

/** Counts down from what the service asked for, then retries. */
function useCountdown(error: ApiError | undefined, retry: (() => unknown) | undefined): number {
  const [left, setLeft] = useState(error?.retryAfter ?? 0)
  useEffect(() => setLeft(error?.retryAfter ?? 0), [error])
  useEffect(() => {
    if (left <= 0) return
    const timer = setTimeout(() => {
      setLeft(left - 1)
      if (left === 1) retry?.()
    }, 1_000)
    return () => clearTimeout(timer)
  }, [left, retry])
  return left
}
