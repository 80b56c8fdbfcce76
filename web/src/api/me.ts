import { createContext, useContext } from 'react'
import { get, post } from './request.ts'
import type { Me } from './wire.ts'

export const MeContext = createContext<Me | undefined>(undefined)

/** Who is signed in; only below the sign-in. */
export function useMe(): Me {
  const me = useContext(MeContext)
  if (!me) throw new Error('used outside of a signed-in page')
  return me
}

/** Exchanges the code of a one-time link, if the address has one, and asks who is signed in. */
export async function signIn(): Promise<Me> {
  const code = window.location.hash.slice(1)
  if (window.location.pathname === '/welcome' && code !== '') {
    // The code leaves the address and the history before anything else sees it.
    window.history.replaceState(null, '', `/welcome${window.location.search}`)
    await post('/v1/sign-in', { code })
  }
  return get<Me>('/v1/me')
}
