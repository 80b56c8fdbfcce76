import { createContext, useContext } from 'react'
import { rememberFolder } from './folder.ts'
import { get, post } from './request.ts'
import type { Me } from './wire.ts'

export const MeContext = createContext<Me | undefined>(undefined)

/** Who is signed in; only below the sign-in. */
export function useMe(): Me {
  const me = useContext(MeContext)
  if (!me) throw new Error('used outside of a signed-in page')
  return me
}

const ranks: readonly Me['rank'][] = ['public', 'operator', 'admin', 'owner']

/** Whether a user has this rank or a higher one. What the page leaves out, Heddle refuses as well. */
export function hasRank({ rank }: Pick<Me, 'rank'>, least: Me['rank']): boolean {
  return ranks.indexOf(rank) >= ranks.indexOf(least)
}

/** Exchanges the code of a one-time link, if the address has one, and asks who is signed in. */
export async function signIn(): Promise<Me> {
  const code = window.location.hash.slice(1)
  if (window.location.pathname !== '/welcome' || code === '') return get<Me>('/v1/me')
  const folder = new URLSearchParams(window.location.search).get('in')
  // The code leaves the address and the history before anything else sees it.
  window.history.replaceState(null, '', '/welcome')
  try {
    await post('/v1/sign-in', { code })
  } catch (error) {
    // A user who opens a link a second time is still signed in by the first.
    return get<Me>('/v1/me').catch(() => {
      throw error
    })
  }
  // Only a link that signs in chooses a folder: any other page could link here with a folder of its own.
  if (folder !== null) rememberFolder(folder)
  return get<Me>('/v1/me')
}
