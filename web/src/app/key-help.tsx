import { type ReactNode, useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { areKeysOn, boundKeys, turnKeys } from '../parts/keys.ts'

/** All keys that work on this page, and the switch that turns them off. */
export function KeyHelp({ isOpen, onClose }: { isOpen: boolean; onClose(): void }): ReactNode {
  const [isOn, setOn] = useState(areKeysOn)
  return (
    <Dialog title="Keys" isOpen={isOpen} onClose={onClose}>
      <table>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Does</th>
          </tr>
        </thead>
        <tbody>
          {[{ keys: 'Ctrl K', does: 'Go to a page, a session or a reference' }, ...boundKeys()].map(
            ({ keys, does }) => (
              <tr key={keys}>
                <td>
                  <kbd>{keys}</kbd>
                </td>
                <td>{does}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
      <label>
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ target }) => {
            turnKeys(target.checked)
            setOn(target.checked)
          }}
        />{' '}
        Single keys work while no field has the focus
      </label>
    </Dialog>
  )
}
