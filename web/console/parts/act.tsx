import { Button, type ButtonProps } from '@mantine/core'
import type { ReactNode } from 'react'

/** A button for what a role may not do: it stays where it is, can be reached, does nothing, and says why. */
export function Act({
  denied,
  onClick,
  children,
  ...rest
}: ButtonProps & { denied: string | undefined; onClick: () => void; children: ReactNode }) {
  const off = denied !== undefined
  return (
    <Button {...rest} aria-disabled={off || undefined} data-disabled={off || undefined} title={denied} onClick={off ? undefined : onClick}>
      {children}
    </Button>
  )
}
