import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'
import { FolderContext, firstFolder, rememberFolder } from '../api/folder.ts'
import { keepLastVisit } from '../api/last-visit.ts'
import { MeContext, signIn } from '../api/me.ts'
import { get, RequestError } from '../api/request.ts'
import type { Me } from '../api/wire.ts'
import { Live } from '../live/live.ts'
import { Refresher } from '../live/refresh.ts'
import { LiveContext } from '../live/use-live.ts'
import { useEncodedLocation } from '../parts/address.ts'
import { ErrorBoundary } from '../parts/error-boundary.tsx'
import { Loading } from '../parts/notice.tsx'
import { NotFound } from './not-found.tsx'
import { PageFailure } from './page-failure.tsx'
import { routeEntries } from './routes.ts'
import styles from './shell.module.css'
import { Shell } from './shell.tsx'
import { SignedOut } from './signed-out.tsx'

interface SignedIn {
  me: Me
  live: Live
  queries: QueryClient
}

/** The page: signs in, opens the connection, then shows the screen of the address. */
export function App(): ReactNode {
  const [signedIn, setSignedIn] = useState<SignedIn | { error: unknown }>()
  const start = useCallback(() => {
    signIn().then(
      (me) => setSignedIn(connect(me)),
      (error: unknown) => setSignedIn({ error }),
    )
  }, [])
  useEffect(start, [start])
  useEffect(keepLastVisit, [])
  if (signedIn === undefined) return <Loading />
  if ('error' in signedIn) return <SignedOut error={signedIn.error} onRetry={start} />
  return (
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={signedIn.queries}>
        <MeProvider first={signedIn.me}>
          <LiveContext value={signedIn.live}>
            <Router hook={useEncodedLocation}>
              <Screens fallbackFolder={signedIn.me.folder ?? '/'} />
            </Router>
          </LiveContext>
        </MeProvider>
      </QueryClientProvider>
    </CSPProvider>
  )
}

/** Who is signed in and what Heddle says of itself: read again with everything else when a lost connection is back. */
function MeProvider({ first, children }: { first: Me; children: ReactNode }): ReactNode {
  const { data } = useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => get<Me>('/v1/me', {}, signal),
    initialData: first,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return <MeContext value={data}>{children}</MeContext>
}

/** A screen whose code is on its way. */
function PageLoading(): ReactNode {
  return (
    <div className={styles['loading']}>
      <Loading />
    </div>
  )
}

function connect(me: Me): SignedIn {
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 30_000,
        refetchOnWindowFocus: false,
        // The stream says when to read again; a refused request stays refused.
        retry: (count, error) => count < 2 && error instanceof RequestError && error.canRetry,
      },
    },
  })
  return { me, queries, live: new Live(me, new Refresher(queries)) }
}

function Screens({ fallbackFolder }: { fallbackFolder: string }): ReactNode {
  const [folder, setFolder] = useState(() => firstFolder(fallbackFolder))
  const [location] = useLocation()
  const place = useMemo(() => {
    const choose = (next: string) => {
      rememberFolder(next)
      setFolder(next)
    }
    return { folder, choose }
  }, [folder])
  return (
    <FolderContext value={place}>
      <Shell>
        <ErrorBoundary resetKey={location} fallback={(error) => <PageFailure error={error} />}>
          <Suspense fallback={<PageLoading />}>
            <Switch>
              {routeEntries.map(({ path, page: Screen }) => (
                <Route key={path} path={path}>
                  <Screen />
                </Route>
              ))}
              <Route>
                <NotFound />
              </Route>
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </Shell>
    </FolderContext>
  )
}
