import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useCallback } from 'react'
import { type Search, useAheadOf } from '../data/address.ts'
import { searchOf, usePlace } from '../data/place.ts'
import { onPress } from './on-press.ts'

export type Target = { to: string; search?: Search | undefined }

/** A link to a page of the console, `/charts/mrr`: it stays in the project and environment of the address. */
export function To({
  to,
  search,
  className,
  children,
  ...rest
}: Target & { className?: string; children: ReactNode; 'aria-label'?: string; 'aria-current'?: 'page' | undefined; 'data-row'?: boolean }) {
  const place = usePlace()
  const ahead = useAheadOf()
  const whole = { ...searchOf(place), ...search }
  return (
    <Link to={to as never} search={whole as never} className={className} onPointerDown={onPress(() => ahead(to, whole))} {...rest}>
      {children}
    </Link>
  )
}

/** Goes to a page as `To` does. */
export function useGo() {
  const navigate = useNavigate()
  const place = usePlace()
  return useCallback(
    ({ to, search }: Target) => void navigate({ to, search: { ...searchOf(place), ...search } } as never),
    [navigate, place],
  )
}
