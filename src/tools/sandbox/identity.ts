import { host, type Identity } from './host.ts'

/**
 * As whom commands run. Root steps down to the owner of the folder where that one can write there: then nothing that
 * the kernel lets root do is left. In root's own folder it stays root, and the sandbox takes all capabilities away.
 */
export async function identityIn(folder: string, self: Identity): Promise<Identity> {
  if (self.uid !== 0) return self
  const owner = await host.owner(folder)
  return owner.uid !== 0 && (await host.mayUse(folder, owner, 7)) ? owner : self
}
