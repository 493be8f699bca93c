import { useMantineColorScheme } from '@mantine/core'
import { useEffect } from 'react'
import { usePreferences, useSession } from '../data/session.ts'

/** The theme and the density of the operator, whatever this browser had before. */
export function useTheme() {
  const { setColorScheme } = useMantineColorScheme()
  const { data } = useSession()
  const { theme, density } = usePreferences()
  const known = data?.operator.preferences.theme !== undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: the function is new in each render
  useEffect(() => {
    if (known) setColorScheme(theme)
  }, [known, theme])
  useEffect(() => {
    document.documentElement.dataset.density = density
  }, [density])
}
