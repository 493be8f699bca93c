import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import PAGES from './pages.json'
import { Broken, Missing } from './shell/boundary.tsx'
import { Shell } from './shell/shell.tsx'

type Module = { default: ComponentType }
const modules = import.meta.glob<Module>('./pages/*/index.tsx')

const root = createRootRoute({
  component: Shell,
  notFoundComponent: Missing,
  validateSearch: search => search as Record<string, string | undefined>,
})

/** The service finds the files of a page by the same names, to announce them in the head of the document. */
const pages = Object.entries(PAGES).map(([path, folder]) =>
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(modules[`./pages/${folder}/index.tsx`]!) }),
)

/** Values of the address are texts: `range=28d`, `f.country=DE,FR`. The router's own way would write them as JSON. */
const stringify = (search: Record<string, unknown>) => {
  const out = new URLSearchParams()
  for (const [name, value] of Object.entries(search))
    if (value !== undefined && value !== null && value !== '') out.set(name, String(value))
  const text = out.toString().replaceAll('%2C', ',').replaceAll('%2F', '/')
  return text === '' ? '' : `?${text}`
}

export const router = createRouter({
  routeTree: root.addChildren(pages),
  basepath: '/console',
  // A page's files are loaded when a link to it is pointed at.
  defaultPreload: 'intent',
  defaultPreloadDelay: 40,
  scrollRestoration: true,
  defaultErrorComponent: Broken,
  parseSearch: text => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: stringify,
})
