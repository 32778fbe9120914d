"""What chaos does to a cluster: one method for each kind of fault, each of which heals it again."""

import time

from wrong_clock import draw_jump  # of tests/crash, whose path cluster.py has added

# (name, share, needs that the network can be cut)
KINDS = [("kill_leader", 6, False), ("kill_follower", 4, False), ("kill_at_start", 3, False),
         ("kill_majority", 3, False), ("kill_all", 2, False), ("stop_leader", 4, False), ("stop_any", 3, False),
         ("pause_leader", 5, False), ("pause_follower", 2, False), ("pause_majority", 2, False),
         ("transfer", 3, False), ("snapshot", 2, False), ("wipe", 3, False), ("roll", 1, False),
         ("full_disk", 3, False), ("clock_jump", 6, False),
         ("cut_leader", 6, True), ("cut_follower", 3, True), ("cut_by_route", 3, True), ("split_all", 2, True),
         ("deaf_leader", 3, True), ("mute_leader", 3, True), ("one_way", 3, True), ("bridge", 4, True),
         ("flap", 2, True), ("cut_and_kill", 3, True)]
# Of all other faults, while clocks may jump: somebody's does at the same time.
JUMPS_BESIDE = 0.4


class Faults:
    """Draws faults and does them. The cluster serves before and after each."""

    def __init__(self, cluster, history, random, report):
        self.cluster = cluster
        self.history = history
        self.random = random
        self.report = report
        self.clocks = False  # whether clocks may jump at the moment
        self.jumps = 0
        self.counts = {name: 0 for name, _, _ in KINDS}
        self.recoveries = []  # (seconds until all nodes served again, kind)

    def draw(self):
        kinds = [(name, share) for name, share, cuts in KINDS
                 if (self.cluster.network.can_cut or not cuts) and (name != "clock_jump" or self.clocks)
                 and (name != "full_disk" or any(node.disk for node in self.cluster.nodes))]
        names, shares = zip(*kinds)
        return self.random.choices(names, shares)[0]

    def cycle(self, kind=None):
        kind = kind or self.draw()
        self.counts[kind] += 1
        began = time.time()
        if self.clocks and kind != "clock_jump" and self.random.random() < JUMPS_BESIDE:
            self.jump()
        getattr(self, kind)()
        healed = time.time()
        self.cluster.heal()
        for node in self.cluster.nodes:
            if not node.running():
                node.spawn()
        self.cluster.wait_serving(within_s=30.0)
        self.recoveries.append((time.time() - healed, kind))
        self.history.add_stop(began - 0.5, time.time() + 0.5)
        self.report(f"{kind} {healed - began:.1f} s, serving after {time.time() - healed:.1f} s")
        time.sleep(self.random.uniform(0.0, 0.5))

    def a_while(self, shortest=0.1, longest=1.6):
        time.sleep(self.random.uniform(shortest, longest))

    def leader(self):
        return self.cluster.leader()

    def follower(self):
        return self.random.choice(self.cluster.followers())

    def majority(self):
        count = len(self.cluster.nodes) // 2 + 1
        return self.random.sample(self.cluster.nodes, count)

    def kill_leader(self):
        self.leader().kill()
        self.a_while()

    def kill_follower(self):
        self.follower().kill()
        self.a_while(longest=3.0)

    def kill_at_start(self):
        node = self.random.choice(self.cluster.nodes)
        node.kill()
        self.a_while(0.0, 0.5)
        for _ in range(2):
            node.spawn()
            self.a_while(0.0, 0.15)
            node.kill()

    def kill_majority(self):
        for node in self.majority():
            node.kill()
        self.a_while()

    def kill_all(self):
        for node in self.cluster.nodes:
            node.kill()
        self.a_while(0.0, 0.5)

    def stop(self, node):
        node.stop()
        self.a_while(0.0, 0.5)

    def stop_leader(self):
        self.stop(self.leader())

    def stop_any(self):
        self.stop(self.random.choice(self.cluster.nodes))

    def roll(self):
        for node in list(self.cluster.nodes):
            node.stop()
            node.spawn()
            self.cluster.wait_serving()

    def pause_leader(self):
        self.leader().pause()
        self.a_while(0.2, 2.5)

    def pause_follower(self):
        self.follower().pause()
        self.a_while(0.2, 2.5)

    def pause_majority(self):
        for node in self.majority():
            node.pause()
        self.a_while(0.2, 2.0)

    def transfer(self):
        to = self.follower()
        answer = to.call("POST", "/cluster/transfer", {"to": to.name}, timeout=20)
        if answer.status not in (200, 503):
            raise AssertionError(f"transfer to {to.name}: {answer.status} {answer.body!r}")

    def snapshot(self):
        """A follower is away while a copy is made and the log is cut behind it."""
        node = self.follower()
        node.kill()
        self.leader().call("POST", "/cluster/snapshot", {}, timeout=20)
        self.a_while()

    def wipe(self):
        """Safe while all others are there: what this one had acknowledged, some of them have too."""
        self.cluster.catch_up()
        node = self.random.choice(self.cluster.nodes)
        node.kill()
        node.wipe()
        self.a_while(0.0, 1.0)
        node.spawn()
        self.cluster.wait(lambda: self.is_voter(node), 40.0, f"{node.name} is a voter again")

    def is_voter(self, node):
        status = node.status()
        rows = status["nodes"] if status else []
        return any(row["self"] and row["voter"] for row in rows) and len(rows) == len(self.cluster.nodes)

    def full_disk(self):
        node = self.random.choice([node for node in self.cluster.nodes if node.disk])
        node.disk.fill()
        self.a_while(0.5, 2.0)
        if self.random.random() < 0.3:
            node.kill()
        node.disk.free()

    def jump(self):
        """Somebody's clock is set, wrongly or right again, and stays so."""
        node = self.random.choice([node for node in self.cluster.nodes if node.clock])
        node.set_clock(0 if self.random.random() < 0.2 else draw_jump(self.random))
        self.jumps += 1

    def clock_jump(self):
        for _ in range(self.random.randint(1, 4)):
            self.jump()
            self.a_while(0.0, 0.6)
        if self.random.random() < 0.5:
            self.leader().kill()
            self.a_while()

    def cut_leader(self):
        self.cut_off(self.leader())

    def cut_follower(self):
        self.cut_off(self.follower())

    def cut_off(self, node, by_route=False):
        self.cluster.split([node], [other for other in self.cluster.nodes if other is not node], by_route=by_route)
        self.a_while(0.3, 3.0)

    def cut_by_route(self):
        self.cut_off(self.random.choice(self.cluster.nodes), by_route=True)

    def split_all(self):
        self.cluster.split(*[[node] for node in self.cluster.nodes])
        self.a_while(0.3, 2.0)

    def deaf_leader(self):
        leader = self.leader()
        for node in self.cluster.nodes:
            if node is not leader:
                self.cluster.cut_one_way(leader, node)
        self.a_while(0.3, 3.0)

    def mute_leader(self):
        leader = self.leader()
        for node in self.cluster.nodes:
            if node is not leader:
                self.cluster.cut_one_way(node, leader)
        self.a_while(0.3, 3.0)

    def one_way(self):
        to, source = self.random.sample(self.cluster.nodes, 2)
        self.cluster.cut_one_way(to, source, by_route=self.random.random() < 0.5)
        self.a_while(0.3, 3.0)

    def bridge(self):
        """One node sees both sides, which do not see each other."""
        nodes = self.random.sample(self.cluster.nodes, len(self.cluster.nodes))
        half = len(nodes) // 2
        self.cluster.split(nodes[1:1 + half], nodes[1 + half:])
        self.a_while(0.3, 3.0)

    def flap(self):
        for _ in range(self.random.randint(2, 4)):
            node = self.random.choice(self.cluster.nodes)
            self.cut_off(node)
            self.cluster.heal()
            self.a_while(0.0, 0.6)

    def cut_and_kill(self):
        """The leader is cut off, and somebody dies meanwhile."""
        self.cut_off(self.leader())
        self.random.choice(self.cluster.nodes).kill()
        self.a_while(0.0, 1.0)
