import { Button, type ButtonProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { useNoNetwork } from '../data/online.ts'
import { t } from './t.ts'

/** The button that sends its form, which Enter in a field presses as well. Without a network it stays where it is, does nothing, and says why. */
export function Send({ children, ...rest }: ButtonProps & { children: ReactNode; title?: string | undefined }) {
  const noNetwork = useNoNetwork()
  const off = noNetwork === undefined ? {} : { 'aria-disabled': true, 'data-disabled': true, title: t(noNetwork) }
  return (
    <Button type="submit" {...rest} {...off} onClick={event => noNetwork !== undefined && event.preventDefault()}>
      {children}
    </Button>
  )
}
