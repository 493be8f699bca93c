import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import type { Search } from './data/address.ts'
import PAGES from './pages.json'
import { Broken, Missing } from './shell/boundary.tsx'
import { Shell } from './shell/shell.tsx'

/** `prefetch`: fetches what the page shows of an address, before it is drawn. */
type Module = { default: ComponentType; prefetch?: (params: Record<string, string>, search: Search) => void }
const modules = import.meta.glob<Module>('./pages/*/index.tsx')

const root = createRootRoute({
  component: Shell,
  notFoundComponent: Missing,
  validateSearch: search => search as Record<string, string | undefined>,
})

const loaded = new Map<string, Module>()

/** At once where the page is loaded: what comes later than this call comes behind the drawing. Files that are missing are told where the page would be. */
function prefetchPage(folder: string, load: () => Promise<Module>, params: Record<string, string>, search: Search): void {
  const page = loaded.get(folder)
  if (page) page.prefetch?.(params, search)
  else
    void load().then(
      first => {
        loaded.set(folder, first)
        first.prefetch?.(params, search)
      },
      () => {},
    )
}

/** The service finds the files of a page by the same names, to announce them in the head of the document. */
const pages = Object.entries(PAGES).map(([path, folder]) => {
  const load = modules[`./pages/${folder}/index.tsx`]!
  return createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load),
    staticData: { prefetch: (params, search) => prefetchPage(folder, load, params, search) },
    beforeLoad: ({ params, search, preload }) => void (preload || prefetchPage(folder, load, params, search)),
  })
})

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
  // What has not changed in an address stays the same object, and what shows it is not drawn again.
  defaultStructuralSharing: true,
  defaultErrorComponent: Broken,
  parseSearch: text => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: stringify,
})
