// The program of docs/worker.md.
#include <ff/flowfabric.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Job {
    std::string url;
};
FF_JSON(Job, url)

struct Page {
    int status = 0;
    std::string body;
};
FF_JSON(Page, status, body)

struct Http {
    std::string get(const std::string& url) const { return "hello from " + url; }
};

void add_handlers(ff::Worker& worker) {
    worker.provide(std::make_shared<Http>());

    worker.on<Job>("fetch", [](ff::Task& task, const Job& job, Http& http) -> Page {
        if (job.url.empty()) {
            throw ff::TaskFailure("permanent", "no url");
        }
        if (task.stop_requested()) {
            throw ff::TaskFailure("cancelled", "asked to stop");
        }
        task.progress(50, "connected");
        return {200, http.get(job.url)};
    });

    worker.on("remind", [](ff::Task& task) -> ff::Result {
        if (!task.resumed()) {
            return task.delay(std::chrono::milliseconds(50));
        }
        return task.complete("resumed after a pause");
    });

    worker.on("crawl", [](ff::Task& task) -> ff::Result {
        if (!task.resumed()) {
            const std::vector<Job> jobs{{"https://a"}, {"https://b"}};
            task.map("page", jobs,
                     [](const Job& job) { return ff::Submit("fetch", job).lane("web"); });
            return task.wait_children();
        }
        return task.complete(task.inputs().all_as<Page>().size());
    });
    worker.on("report", [](ff::Task& task) {
        const ff::Inputs inputs = task.inputs();
        return "pages: " + inputs.as<std::string>("pages");
    });
}

void run() {
    auto engine =
        ff::Engine::connect("sqlite::memory:") | ff::layer::circuit_breaker({.threshold = 5});

    ff::Worker worker(engine, {.worker_id = "web-1",
                               .ns = "acme",
                               .lanes = {"web"},
                               .capabilities = {"net"},
                               .max_concurrent_tasks = 8,
                               .log = [](ff::Severity, std::string_view) {}});
    add_handlers(worker);
    ff::value_or_throw(worker.start());

    ff::Client client(engine, {.ns = "acme"});
    const auto id =
        client.submit(ff::Submit("fetch", Job{"https://x"}).lane("web").retries(3)).id();
    const auto page = client.wait(id, std::chrono::seconds(30)).as<Page>();
    std::printf("%d %s\n", page.status, page.body.c_str());

    const auto bad = client.submit(ff::Submit("fetch", Job{""}).lane("web").retries(3)).id();
    const auto failed = client.wait(bad, std::chrono::seconds(30));
    std::printf("%s: %s: %s\n", std::string(ff::to_string(failed.state)).c_str(),
                failed.category.c_str(), failed.reason.c_str());

    const auto later = client.submit(ff::Submit("remind").lane("web")).id();
    std::printf("%s\n", client.wait(later, std::chrono::seconds(30)).bytes().c_str());

    ff::FlowBuilder flow("report");
    flow.node("crawl", ff::Submit("crawl").lane("web"));
    flow.node("report", ff::Submit("report").lane("web")).input("pages", "crawl");
    const auto made = client.submit(flow);
    client.wait_flow(made.id(), std::chrono::seconds(30));
    std::printf("%s\n", client.result(made.node("report"))->c_str());

    ff::value_or_throw(worker.stop());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "guide: %s\n", error.what());
        return 1;
    }
}
