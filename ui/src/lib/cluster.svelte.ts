// The cluster as one node sees it: asked for in one place, told in words.
import { api, type Cluster, type ClusterNode } from './api'
import { connection } from './connection.svelte'
import { count, plural } from './format'
import { resource, type Resource } from './resource.svelte'

let watched: Resource<Cluster>
/** Made with the frame, read by the screens. */
export const cluster = () => watched

const SOON_MS = 1500
export function watchCluster() {
  watched = resource(async () => {
    const c = await api.cluster()
    c.nodes.sort((a, b) => nameOf(a).localeCompare(nameOf(b), 'en', { numeric: true }))
    if (leaderOf(c)) connection.led()
    else connection.leaderless()
    return c
  }, 5000)
  $effect(() => {
    if (!connection.headless) return
    const timer = setInterval(() => void watched.refresh(), SOON_MS)
    return () => clearInterval(timer)
  })
}

export const nameOf = (node: ClusterNode) => node.name || node.address || `node ${node.id}`
export const isSelf = (c: Cluster, node: ClusterNode) => node.self ?? node.id === c.node_id
const isThere = (c: Cluster, node: ClusterNode) => isSelf(c, node) || node.connected !== false
const votes = (node: ClusterNode) => node.voter ?? node.role !== 'learner'

export function leaderOf(c: Cluster): string | null {
  if (c.leader !== undefined) return c.leader
  if (c.leader_id == null) return null
  const node = c.nodes.find((n) => n.id === c.leader_id)
  return node ? nameOf(node) : `node ${c.leader_id}`
}
/** How many vote, how many of them are in touch, and how many are needed; `without`: as if it were gone. */
export function quorumOf(c: Cluster, without?: ClusterNode) {
  const voters = c.nodes.filter((n) => n !== without && votes(n))
  const needed = Math.floor(voters.length / 2) + 1
  const there = voters.filter((n) => isThere(c, n)).length
  return { voters: voters.length, needed, there, spare: there - needed }
}
export const logOf = (c: Cluster, node: ClusterNode) => node.matched_index ?? node.applied_index ?? (isSelf(c, node) ? c.applied_index : null)

const FAR = 1000
const SLOW_MS = 250
/** How a node stands: a colour (the name of a job's state), a word, and what is wrong, if anything is. */
export function standing(c: Cluster, node: ClusterNode): { tone: string; word: string; more: string } {
  const say = (tone: string, word: string, more = '') => ({ tone, word, more })
  if (!isThere(c, node)) return say('dead', 'away', `${isSelf(c, leaderNode(c) ?? node) ? 'The leader' : 'This node'} cannot reach it${node.last_error ? `: ${node.last_error}` : ''}${votes(node) ? '' : '; it has no vote'}.`)
  if (isSelf(c, node) && c.role === 'candidate') return say('retrying', c.role, 'It asks the others for their votes.')
  if (node.state === 'snapshot') return say('active', 'gets a snapshot', 'It was too far behind for the log alone.')
  if (node.state === 'probe') return say('retrying', 'being probed', 'The leader looks for the end of its log.')
  if ((node.lag ?? 0) > FAR) return say('retrying', 'catching up', `${plural(node.lag!, 'entry', 'entries')} behind.`)
  if ((node.round_trip_ms ?? 0) > SLOW_MS) return say('retrying', 'slow', `An answer takes ${count(Math.round(node.round_trip_ms!))} ms.`)
  if (!votes(node)) return say('completed', 'learning', 'It gets a vote when it has caught up.')
  return say('completed', 'healthy')
}
const leaderNode = (c: Cluster) => c.nodes.find((n) => n.role === 'leader')

export const REMOVED = 'This node is no longer part of the cluster: stop it, or start it anew with an empty folder.'
/** What the loss of nodes would mean now. */
export function outlook(c: Cluster): { bad: boolean; text: string } {
  // Neither of these stands among the nodes.
  if (c.role === 'removed') return { bad: true, text: REMOVED }
  if (c.role === 'forming') return { bad: true, text: 'Waiting for the other nodes to be up' }
  const { voters, there, needed, spare } = quorumOf(c)
  if (!leaderOf(c)) return { bad: true, text: there < needed ? `${there} of ${plural(voters, 'voter')} in touch, ${needed} needed` : 'no leader yet' }
  if (voters === 1) return { bad: false, text: 'it runs alone' }
  const some = there === voters ? `all ${voters} voters in touch` : `${there} of ${voters} voters in touch`
  return { bad: there < voters, text: `${some}, ${spare > 0 ? `${spare} may fail` : 'none may fail'}` }
}
