import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import { loadPart } from '../api/load-part.ts'
import { hasRank } from '../api/me.ts'
import type { Me } from '../api/wire.ts'

/** A page and where it is. */
interface RouteEntry {
  /** As wouter writes it: `:name` is a part of the path, `?` marks what may be missing. */
  path: string
  page: LazyExoticComponent<ComponentType>
  /** Of a page in the navigation. */
  nav?: NavEntry
}

/** A page in the navigation; `g` and the key go there. `isTab` is one of the four on a phone, there perhaps by a shorter name. */
export interface NavEntry {
  label: string
  key: string
  href: string
  isTab?: true
  tabLabel?: string
  /** The lowest rank that may see it; everyone's if left out. */
  rank?: Me['rank']
}

/** Pages in the navigation that this user may see. */
export function navEntriesOf(me: Me): NavEntry[] {
  return routeEntries.flatMap(({ nav }) => (nav && hasRank(me, nav.rank ?? 'public') ? [nav] : []))
}

/** All pages, in the order of the navigation. Each is loaded when it is first opened. */
export const routeEntries: readonly RouteEntry[] = [
  {
    path: '/',
    page: lazy(() => loadPart(() => import('../pages/overview/overview.tsx'))),
    nav: { label: 'Overview', key: 'o', href: '/', isTab: true },
  },
  {
    path: '/s/:session/:turn?',
    page: lazy(() => loadPart(() => import('../pages/chat/chat.tsx'))),
    nav: { label: 'Chat', key: 'c', href: '/s/main', isTab: true },
  },
  {
    path: '/needs/:id?',
    page: lazy(() => loadPart(() => import('../pages/needs/needs.tsx'))),
    nav: { label: 'Needs you', key: 'n', href: '/needs', isTab: true, tabLabel: 'Needs', rank: 'operator' },
  },
  {
    path: '/runs',
    page: lazy(() => loadPart(() => import('../pages/runs/runs.tsx'))),
    nav: { label: 'Runs', key: 'r', href: '/runs', isTab: true },
  },
  { path: '/runs/:id', page: lazy(() => loadPart(() => import('../pages/run/run.tsx'))) },
  {
    path: '/plans',
    page: lazy(() => loadPart(() => import('../pages/plan/plans.tsx'))),
    nav: { label: 'Plans', key: 'p', href: '/plans' },
  },
  { path: '/plans/:id', page: lazy(() => loadPart(() => import('../pages/plan/plan.tsx'))) },
  { path: '/tasks/:id', page: lazy(() => loadPart(() => import('../pages/plan/task-address.tsx'))) },
  {
    path: '/turns',
    page: lazy(() => loadPart(() => import('../pages/turns/turns.tsx'))),
    nav: { label: 'Turns', key: 't', href: '/turns' },
  },
  { path: '/t/:id', page: lazy(() => loadPart(() => import('../pages/turn/turn.tsx'))) },
  { path: '/compare/:pair', page: lazy(() => loadPart(() => import('../pages/compare/compare.tsx'))) },
  { path: '/why/*', page: lazy(() => loadPart(() => import('../pages/why/why.tsx'))) },
  {
    path: '/agents',
    page: lazy(() => loadPart(() => import('../pages/agents/agents.tsx'))),
    nav: { label: 'Agents', key: 'a', href: '/agents' },
  },
  { path: '/agents/registry', page: lazy(() => loadPart(() => import('../pages/agents/registry.tsx'))) },
  { path: '/agents/:name', page: lazy(() => loadPart(() => import('../pages/agents/agent.tsx'))) },
  {
    path: '/skills/:name?',
    page: lazy(() => loadPart(() => import('../pages/skills/skills.tsx'))),
    nav: { label: 'Skills', key: 's', href: '/skills', rank: 'admin' },
  },
  {
    path: '/memory/:id?',
    page: lazy(() => loadPart(() => import('../pages/memory/memory.tsx'))),
    nav: { label: 'Memory', key: 'm', href: '/memory', rank: 'owner' },
  },
  {
    path: '/cron',
    page: lazy(() => loadPart(() => import('../pages/cron/cron.tsx'))),
    nav: { label: 'Cron', key: 'k', href: '/cron', rank: 'operator' },
  },
  {
    path: '/usage',
    page: lazy(() => loadPart(() => import('../pages/usage/usage.tsx'))),
    nav: { label: 'Usage', key: 'u', href: '/usage' },
  },
  {
    path: '/doctor',
    page: lazy(() => loadPart(() => import('../pages/doctor/doctor.tsx'))),
    nav: { label: 'Doctor', key: 'd', href: '/doctor', rank: 'owner' },
  },
  { path: '/welcome', page: lazy(() => loadPart(() => import('../pages/welcome/welcome.tsx'))) },
]
