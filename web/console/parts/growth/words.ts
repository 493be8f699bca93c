import { figure } from '../format.ts'
import { t } from '../t.ts'

/** The key with which an app asks; empty or null: without one. */
export const contextText = (key: string | null): string => (key === null || key === '' ? t('without a context key') : key)

/** A share from 0 to 100 as it is typed: `50 %`, `12.5 %`. */
export const percentText = (percent: number): string => `${figure(percent)} %`
