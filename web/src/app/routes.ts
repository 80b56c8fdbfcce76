import { type ComponentType, type LazyExoticComponent, lazy } from 'react'

/** A page and where it is. */
export interface RouteEntry {
  /** As wouter writes it: `:name` is a part of the path, `?` marks what may be missing. */
  path: string
  page: LazyExoticComponent<ComponentType>
  /** Of a page in the navigation; `g` and the key go there. `isTab` is one of the four on a phone. */
  nav?: { label: string; key: string; href: string; isTab?: true }
}

/** All pages, in the order of the navigation. Each is loaded when it is first opened. */
export const routeEntries: readonly RouteEntry[] = [
  {
    path: '/',
    page: lazy(() => import('../pages/overview/overview.tsx')),
    nav: { label: 'Overview', key: 'o', href: '/', isTab: true },
  },
  {
    path: '/s/:session/:turn?',
    page: lazy(() => import('../pages/chat/chat.tsx')),
    nav: { label: 'Chat', key: 'c', href: '/s/main', isTab: true },
  },
  {
    path: '/turns',
    page: lazy(() => import('../pages/turns/turns.tsx')),
    nav: { label: 'Turns', key: 't', href: '/turns' },
  },
  { path: '/t/:id', page: lazy(() => import('../pages/turn/turn.tsx')) },
  { path: '/compare/:pair', page: lazy(() => import('../pages/compare/compare.tsx')) },
  { path: '/why/*', page: lazy(() => import('../pages/why/why.tsx')) },
  {
    path: '/usage',
    page: lazy(() => import('../pages/usage/usage.tsx')),
    nav: { label: 'Usage', key: 'u', href: '/usage' },
  },
  { path: '/welcome', page: lazy(() => import('../pages/welcome/welcome.tsx')) },
]
