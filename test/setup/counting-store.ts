import type { Reading, Store, Tx } from '../../src/store/store.ts'

/** A store that notes each statement of its transactions and reads. */
export function countingStore(store: Store, sent: string[]): Store {
  const noting = <R extends Reading>(rows: R): R =>
    new Proxy(rows, {
      get(target, key) {
        const value = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        if (['run', 'all', 'first'].includes(String(key))) sent.push(String(key))
        return value.bind(target)
      },
    })
  return new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key, target)
      if (key === 'write')
        return (area: never, body: (tx: Tx) => unknown) => target.write(area, (tx) => body(noting(tx)) as never)
      if (key === 'read')
        return (body: (rows: Reading) => unknown) => target.read((rows) => body(noting(rows)) as never)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
