// The cluster's screen before three real nodes.
import assert from 'node:assert/strict'
import { Server, stablePort } from './server.mjs'
import { Api } from './workload.mjs'

const notice = (page, text) => page.locator('.notices').getByText(text).first().waitFor()
const dialog = (page) => page.locator('dialog[open]')
const card = (page, name) => page.locator('article', { has: page.getByRole('heading', { name, exact: true }) })
const chip = (page, name, role) => card(page, name).locator('.chip').getByText(role, { exact: true }).waitFor()

class Three {
  static async start(binary) {
    const three = new Three()
    const ports = new Set()
    while (ports.size < 6) ports.add(await stablePort())
    const [http, raft] = [[...ports].slice(3), [...ports].slice(0, 3)]
    const address = (port) => `127.0.0.1:${port}`
    three.nodes = raft.map((port, n) => {
      const peers = raft.filter((other) => other !== port).map(address)
      const node = new Server({ binary, flags: ['--cluster', '--raft', address(port), '--node', `node-${n + 1}`, '--peers', peers.join()] }, http[n])
      node.name = `node-${n + 1}`
      node.api = new Api(node.url)
      return node
    })
    try {
      await Promise.all(three.nodes.map((node) => node.up()))
      await three.settled(3)
    } catch (error) {
      await three.end()
      throw error
    }
    return three
  }
  named(name) {
    return this.nodes.find((node) => node.name === name)
  }
  async until(what, is) {
    const deadline = Date.now() + 15_000
    for (;;) {
      try {
        const found = await is()
        if (found) return found
      } catch {
        // Not yet.
      }
      if (Date.now() > deadline) throw new Error(`not within 15 s: ${what}`)
      await new Promise((done) => setTimeout(done, 50))
    }
  }
  /** All agree on who leads, and so many are connected everywhere; gives who leads. */
  settled(count, among = this.nodes) {
    return this.until(`${count} nodes agree`, async () => {
      const all = await Promise.all(among.map((node) => node.api.get('/cluster/status')))
      const leader = all[0].leader
      return leader && all.every((c) => c.leader === leader && c.nodes.filter((n) => n.connected).length === count) && this.named(leader)
    })
  }
  async end() {
    await Promise.all(this.nodes.map((node) => node.process && node.end()))
  }
}

/** A cluster for one test. */
const withThree = (run) => async (t) => {
  const three = await Three.start(t.binary)
  try {
    await run(t, three)
  } finally {
    await three.end()
  }
}
const shoot = (t, page, name) => t.shots && page.screenshot({ path: `${t.shots}/nodes-${name}.png`, fullPage: true })

export const nodes = {
  'three nodes: who leads, handing over, a snapshot': withThree(async (t, three) => {
    const leader = await three.settled(3)
    const follower = three.nodes.find((node) => node !== leader)
    await follower.api.post('/enqueue/batch', { jobs: Array.from({ length: 50 }, (_, n) => ({ queue: 'emails.send', payload: { n } })) })
    const { page } = await t.open()
    await page.goto(`${leader.url}/ui/cluster`)
    await page.locator('.head').getByText('3 nodes: all 3 voters in touch, 1 may fail').waitFor()
    assert.deepEqual(await page.getByRole('region', { name: 'Nodes' }).getByRole('heading').allTextContents(), ['node-1', 'node-2', 'node-3'])
    for (const node of three.nodes) {
      await chip(page, node.name, node === leader ? 'leader' : 'follower')
      await card(page, node.name).getByText('healthy').waitFor()
    }
    await card(page, leader.name).getByText('this one').waitFor()
    await card(page, follower.name).getByText('current').waitFor()
    await card(page, follower.name).getByText(/^[\d.]+ ms$/).waitFor()
    await t.check(page, t.axe, 'three real nodes')
    await shoot(t, page, 'leader')

    await page.getByRole('button', { name: 'Make a snapshot' }).click()
    await notice(page, 'A snapshot is made')

    await page.getByRole('button', { name: `Make ${follower.name} the leader` }).click()
    await dialog(page).getByText(`${leader.name} lets ${follower.name} catch up`).waitFor()
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await three.settled(3), leader, 'nothing is done without a yes')
    await page.getByRole('button', { name: `Make ${follower.name} the leader` }).click()
    await dialog(page).getByRole('button', { name: 'Hand over' }).click()
    await notice(page, `${follower.name} is to lead`)
    await chip(page, follower.name, 'leader')
    await chip(page, leader.name, 'follower')
    assert.equal(await page.locator('article .chip').getByText('leader', { exact: true }).count(), 1)
    await page.getByRole('region', { name: 'This node' }).getByText(follower.name).waitFor()
    assert.equal(await three.settled(3), follower)
    // The page is a follower's now: it knows how far it is itself, and of the others that they are there.
    await page.locator('.head').getByText('all 3 voters in touch').waitFor()
    await t.check(page, t.axe, 'a follower')
    await shoot(t, page, 'follower')
  }),

  'three nodes: one is killed, comes back, and is removed': withThree(async (t, three) => {
    const leader = await three.settled(3)
    const [away, witness] = three.nodes.filter((node) => node !== leader)
    const { page } = await t.open()
    await page.goto(`${leader.url}/ui/cluster`)
    const { page: other } = await t.open({ theme: 'dark' })
    await other.goto(`${witness.url}/ui/cluster`)
    for (const one of [page, other]) await card(one, away.name).getByText('healthy').waitFor()

    await away.kill()
    await card(page, away.name).getByText('away', { exact: true }).waitFor()
    await card(page, away.name).getByText('The leader cannot reach it').waitFor()
    await card(page, away.name).getByText('refused').waitFor()
    await page.locator('.head').getByText('2 of 3 voters in touch, none may fail').waitFor()
    await card(other, away.name).getByText('This node cannot reach it').waitFor()
    assert.equal(await page.getByRole('button', { name: `Make ${away.name} the leader` }).isDisabled(), true)
    await t.check(page, t.axe, 'a node is away')
    await shoot(t, page, 'away')
    await shoot(t, other, 'away-follower')
    await page.getByRole('button', { name: `Remove ${witness.name}` }).click()
    await dialog(page).getByText('the cluster would stop').waitFor()
    await dialog(page).getByRole('textbox').fill(witness.name)
    await dialog(page).getByRole('button', { name: 'Remove the node' }).click()
    await notice(page, 'no majority')
    assert.equal((await leader.api.get('/cluster/status')).nodes.length, 3, 'the server refuses it')

    await away.up()
    for (const one of [page, other]) {
      await card(one, away.name).getByText('healthy').waitFor()
      await one.locator('.head').getByText('all 3 voters in touch, 1 may fail').waitFor()
    }

    // Through a follower's page, and the one of whom it is that goes.
    const { page: last } = await t.open()
    await last.goto(`${away.url}/ui/cluster`)
    await card(last, away.name).getByText('healthy').waitFor()
    await other.getByRole('button', { name: `Remove ${away.name}` }).click()
    await dialog(other).getByText('2 voters remain, of which 2 have to agree; 2 are in touch now').waitFor()
    await dialog(other).getByText('None of them may fail then').waitFor()
    const sure = dialog(other).getByRole('button', { name: 'Remove the node' })
    assert.equal(await sure.isDisabled(), true)
    await dialog(other).getByRole('textbox').fill(away.name)
    await t.check(other, t.axe, 'the removal of a node')
    await shoot(t, other, 'remove')
    await sure.click()
    await notice(other, `${away.name} is removed`)
    for (const one of [page, other]) {
      await card(one, away.name).waitFor({ state: 'detached' })
      await one.locator('.head').getByText('2 nodes: all 2 voters in touch, none may fail').waitFor()
    }
    await shoot(t, page, 'two')
    await last.getByRole('alert').getByText('This node is no longer part of the cluster').waitFor()
    await last.locator('.head').getByText('This node is no longer part of the cluster').waitFor()
    await t.check(last, t.axe, 'a removed node')
    await shoot(t, last, 'removed')
  }),
}
