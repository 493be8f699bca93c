import { Button, type ButtonProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { useNoNetwork } from '../data/online.ts'
import { t } from './t.ts'

/** A button for what a role may not do, or nobody without a network: it stays where it is, can be reached, does nothing, and says why. */
export function Act({
  denied,
  onClick,
  children,
  ...rest
}: ButtonProps & { denied: string | undefined; onClick: () => void; children: ReactNode }) {
  const noNetwork = useNoNetwork()
  const why = denied ?? (noNetwork && t(noNetwork))
  const off = why !== undefined
  return (
    <Button {...rest} aria-disabled={off || undefined} data-disabled={off || undefined} title={why} onClick={off ? undefined : onClick}>
      {children}
    </Button>
  )
}
